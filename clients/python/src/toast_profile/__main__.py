"""toast-profile: times the programs of a module's segments on jax.devices() and writes a profile.

    toast plan model.mlir.gz --mesh data=8 --device h100 --planner baselines --outputs segments -o plan/
    toast-profile plan/segments.tar -o profile.json
    toast plan model.mlir.gz --mesh data=8 --device h100 --planner segments --profile profile.json -o plan/

Stopped in the middle it goes on where it was (OUT.log). Programs that another module has, too, are timed once: give the same --log.
With --post the profile goes to a service as NAME, which requests then name in device.profile.

exit status: 0 done, 2 usage, 3 a program hangs (run again), 5 devices, archive or log do not fit, or a program does not compile
"""
from __future__ import annotations

import argparse
import json
import sys

from . import Archive, BadArchive, Options, ProfileError, profile


def parser_of() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="toast-profile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", help="segments.tar")
    parser.add_argument("-o", "--out", default="profile.json", help="the profile (default: profile.json)")
    parser.add_argument("--log", help="what was measured, a line a program (default: OUT.log)")
    parser.add_argument("--warm-up", type=int, default=5, help="runs before the timed ones (5)")
    parser.add_argument("--runs", type=int, default=10, help="timed runs, of which the median counts (10)")
    parser.add_argument("--give-up", type=float, default=8.0, metavar="X", help="time a program once only that takes X times its segment's best (8)")
    parser.add_argument("--hang", type=float, default=300.0, metavar="S", help="end when one program's runs take S seconds (300)")
    parser.add_argument("--threads", type=int, default=0, help="that compile (default: by cores)")
    parser.add_argument("--overlap", choices=("auto", "yes", "no"), default="auto", help="compile beside the runs (auto: unless they run on the CPU)")
    parser.add_argument("--limit", type=int, metavar="N", help="time N programs at most, then write what there is")
    parser.add_argument("--parts", action="store_true", help="time each program without its collectives, too: computation and communication "
                                                            "apart, for twice the compiles")
    parser.add_argument("--post", metavar="URL", help="a service that gets the profile")
    parser.add_argument("--name", help="its name there")
    parser.add_argument("--key", help="API key of the service (default: TOAST_KEY)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


def post(url: str, name: str, key: str | None, profiled: dict[str, object]) -> None:
    from toast.service import Client
    Client(url, key).call("PUT", f"/v1/profiles/{name}", json.dumps(profiled).encode(), {"Content-Type": "application/json"})


def main(argv: list[str] | None = None) -> int:
    parser = parser_of()
    given = parser.parse_args(argv)
    if bool(given.post) != bool(given.name):
        parser.error("--post and --name go together")
    if given.runs < 1 or given.warm_up < 0:
        parser.error("--runs needs 1 or more, --warm-up 0 or more")
    options = Options(given.warm_up, given.runs, given.give_up, given.hang, given.threads,
                      {"auto": None, "yes": True, "no": False}[given.overlap], given.log, given.limit, given.parts)
    say = (lambda text: None) if given.quiet else (lambda text: print(text, file=sys.stderr, flush=True))
    from .running import Unprofilable
    try:
        archive = Archive(given.archive)
        profiled = profile(archive, given.out, options, say)
    except (BadArchive, ProfileError, Unprofilable, OSError) as error:
        print(f"toast-profile: {error}", file=sys.stderr)
        return 5
    timed = sum(len(segment["configurations"]) for segment in profiled["segments"])
    print(f"{given.out}: {timed} of {len(archive.programs)} programs timed, for {archive.manifest['equation_7']} of equation 7")
    if given.post:
        post(given.post, given.name, given.key, profiled)
        print(f"posted to {given.post} as {given.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
