#!/bin/sh
# The steps that the images have in common: run by the Dockerfile and by crosslens.def as root, in the folder of the repository, on
# Debian 12.
set -eu

apt-get update
apt-get install --yes --no-install-recommends ca-certificates git python3 python3-venv
rm -rf /var/lib/apt/lists/*
envs/install.sh /opt/crosslens
