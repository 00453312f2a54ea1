#!/usr/bin/env python3
"""Lets PyTorch's wheel for Linux start where none of CUDA's libraries are installed.

The wheel on the package index is linked against CUDA's libraries, which weigh some 3 GB and which nothing here uses.
This makes a small library for each one that is missing, with the names and versions the wheel asks for, so that the
loader is content; every function in them answers "no device" (100), which is what CUDA itself says on a machine without
one. Code for such devices, half a gigabyte that is never read then, is given back to the disk.

    python torch_without_cuda.py SITE-PACKAGES

Needs cc, nm, readelf and fallocate. Does nothing where the wheel is not linked against CUDA (ARM64, or a wheel for the CPU).
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

NO_DEVICE = 100


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(library):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", library)))


def symbols(library, option):
    """Name -> version or None, of a library's dynamic symbols."""
    found = {}
    for line in output("nm", "-D", "--with-symbol-versions", option, library).splitlines():
        name, _, version = line.split()[-1].replace("@@", "@").partition("@")
        found[name] = version or None
    return found


def origins(library):
    """Version -> the library that must define it, of all versions this library asks for."""
    found, origin = {}, None
    for line in output("readelf", "-VW", library).splitlines():
        if match := re.search(r"Version: 1 +File: (\S+)", line):
            origin = match[1]
        elif match := re.search(r"Name: (\S+) +Flags", line):
            found[match[1]] = origin
    return found


def stand_in(path, functions):
    """Writes a library with these functions: name -> version or None."""
    lines, versions = [".text"], defaultdict(list)
    for name, version in sorted(functions.items()):
        lines += [f".globl {name}", f".type {name},@function", f"{name}: {INSTRUCTIONS}", f".size {name},.-{name}"]
        if version:
            versions[version].append(name)
    lines += ['.section .note.GNU-stack,"",@progbits', ""]
    source, script = path.with_suffix(".s"), path.with_suffix(".map")
    source.write_text("\n".join(lines))
    script.write_text("".join(f"{v} {{ global: {'; '.join(names)}; }};\n" for v, names in sorted(versions.items())))
    scripted = [f"-Wl,--version-script={script}"] if versions else []
    subprocess.run(["cc", "-shared", "-nostdlib", "-o", path, source, f"-Wl,-soname,{path.name}", *scripted], check=True)
    source.unlink()
    script.unlink()


def give_back_device_code(library):
    """Makes a hole of the section that holds code for graphics processors; offsets stay as they are."""
    match = re.search(r"\.nv_fatbin +PROGBITS +\S+ +(\S+) +(\S+)", output("readelf", "-SW", library))
    if match:
        offset, length = (int(number, 16) for number in match.groups())
        subprocess.run(["fallocate", "--punch-hole", "--offset", str(offset), "--length", str(length), library], check=False)


INSTRUCTIONS = f"mov ${NO_DEVICE}, %eax; ret"


def main():
    folder = Path(sys.argv[1]) / "torch" / "lib"
    libraries = sorted(folder.glob("*.so"))
    ours = {library.name for library in libraries}
    missing = {n for library in libraries for n in needed(library) if re.match(r"lib(cu|nv|nccl)", n)} - ours
    defined = set().union(*(symbols(library, "--defined-only") for library in libraries))
    functions = defaultdict(dict)
    for library in libraries:
        origin_of = origins(library)
        for name, version in symbols(library, "--undefined-only").items():
            origin = origin_of.get(version)
            if origin in missing:
                functions[origin][name] = version
            elif version is None and name not in defined and re.match(r"_?_?(cu|nv|nccl)", name):
                functions[min(missing)].setdefault(name, None)
    for name in sorted(missing):
        stand_in(folder / name, functions[name])
    if missing:
        give_back_device_code(folder / "libtorch_cuda.so")


if __name__ == "__main__":
    main()
