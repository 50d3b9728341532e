# The workflow and its locked packages: docs/install.md. envs/container.sh has the steps.
FROM debian:bookworm-slim

# An index or a folder with torch for the CPU alone: without one, the image has NVIDIA's libraries too.
ARG PIP_EXTRA_INDEX_URL=""
ARG PIP_NO_CACHE_DIR=1

WORKDIR /crosslens
COPY requirements*.lock ./
COPY envs envs
RUN envs/container.sh
RUN useradd --create-home crosslens && chown crosslens .
COPY --chown=crosslens . .

USER crosslens
ENV PATH=/opt/crosslens/bin:$PATH
ENTRYPOINT ["snakemake"]
CMD ["--profile", "demo", "demo"]
