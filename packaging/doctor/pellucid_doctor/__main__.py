"""python -m pellucid_doctor: starts the program with the same arguments."""
import os
import subprocess
import sys

from pellucid_doctor import find_program

command = [find_program(), *sys.argv[1:]]
if os.name == "nt":  # exec would return to the shell before the program ends
    sys.exit(subprocess.run(command).returncode)
os.execv(command[0], command)
