"""Finds the program pellucid-doctor that this package installed."""
import os
import sysconfig


def find_program():
    """Returns the path of the program."""
    name = "pellucid-doctor" + (sysconfig.get_config_var("EXE") or "")
    user_scheme = sysconfig.get_preferred_scheme("user") if hasattr(sysconfig, "get_preferred_scheme") else f"{os.name}_user"
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", scheme=user_scheme)]
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"{name} is in none of {', '.join(folders)}: install pellucid-doctor again")
