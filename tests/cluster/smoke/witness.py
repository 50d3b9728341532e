"""Write down what a job on the cluster sees."""

import json
import os
import time
from pathlib import Path

import crosslens
from crosslens import logs


def main(snakemake):
    """Take memory if asked to, and write the job's environment."""
    log = logs.start(snakemake.log[0], title=f"smoke test: {snakemake.rule}")
    taken = bytearray(b"x") * (snakemake.params.get("allocate_mb", 0) << 20)
    if taken:
        time.sleep(6)  # SLURM samples memory every two seconds here
    names = ("SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES")
    seen = {name: os.environ.get(name) for name in names}
    seen |= {"library": crosslens.__file__, "mem_mb": snakemake.resources.mem_mb, "inputs": list(snakemake.input)}
    Path(snakemake.output[0]).write_text(json.dumps(seen))
    log.info("seen: %s", seen)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
