#!/bin/sh
# Kernels that were compiled for the image are read only from a folder that may be written
# to, which the image's own is not. A container that is started again has them already.
mkdir -p "$NUMBA_CACHE_DIR" 2>/dev/null
cp -R /opt/productrecs/numba/. "$NUMBA_CACHE_DIR" 2>/dev/null
exec "$@"
