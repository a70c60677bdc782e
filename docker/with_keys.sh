#!/bin/sh
# Starts a program with the keys of the bucket in its environment, where its container is given any: the clients of S3
# take them from there only, and nobody who looks at the container from outside sees them.
set -eu
keys=/run/kappa/s3.env
if [ -f "$keys" ]; then
    set -a
    # shellcheck source=/dev/null
    . "$keys"
    set +a
fi
exec "$@"
