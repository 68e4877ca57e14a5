#!/bin/sh
# Kernels that were compiled for the image are read only from a folder that may be written
# to, which the image's own is not.
cp -R /opt/productrecs/numba "$NUMBA_CACHE_DIR" 2>/dev/null
exec "$@"
