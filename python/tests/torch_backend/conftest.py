import logging

# PyTorch writes a structured trace of each compile to this logger. pytest would format and keep every record of it.
logging.getLogger("torch.__trace").propagate = False
