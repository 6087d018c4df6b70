"""What `toast price` says of a module's text on two devices."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def price_of(text, device, *options):
    """The price as a dict, with more options of the command; where there is none the test ends with the module and the error."""
    with tempfile.TemporaryDirectory() as scratch:
        module = pathlib.Path(scratch) / 'm.mlir'
        module.write_text(text)
        done = subprocess.run([os.path.join(os.environ['TOAST_BIN'], 'toast'), 'price', module, '--mesh', 'x=2', '--device', device, '--json', *options],
                              capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f'{text}{done.stderr}')
    return json.loads(done.stdout)
