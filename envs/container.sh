#!/bin/sh
# The build steps of the container: run by the Dockerfile as root, in the folder of the repository, on Debian 12.
set -eu

apt-get update
apt-get install --yes --no-install-recommends ca-certificates git python3 python3-venv
rm -rf /var/lib/apt/lists/*
useradd --create-home crosslens
envs/install.sh /opt/crosslens
chown crosslens .
