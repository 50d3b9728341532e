#!/bin/sh
# Start Python on the node that tests/node/__init__.py describes; without mounts where the system does not allow them.
unset PYTHONUTF8 PYTHONIOENCODING
umask 077
mounts='mount -t tmpfs -o size=64m node /dev/shm && mount -t tmpfs node /sys/fs/cgroup && echo 300000 100000 >/sys/fs/cgroup/cpu.max'
for options in "--mount" "--mount --map-root-user"; do
    if unshare $options sh -c "$mounts" 2>/dev/null; then
        exec setsid unshare $options sh -c "$mounts && exec \"\$0\" \"\$@\"" "$NODE_PYTHON" "$@" </dev/null
    fi
done
exec setsid "$NODE_PYTHON" "$@" </dev/null
