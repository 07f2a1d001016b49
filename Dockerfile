# memplan as a service. BASE needs no more than `python3` with venv and pip; wheels bring everything else.
# The digest is that of the index of all platforms. `docker buildx imagetools inspect python:3.12-slim` shows the one of
# now, by which it is renewed with every release, and where the base image has a mend.
ARG BASE=python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build

COPY requirements.lock ./
RUN python3 -m venv /opt/memplan \
 && /opt/memplan/bin/pip install --require-hashes --only-binary :all: --requirement requirements.lock

COPY docker/build.lock docker/
RUN python3 -m venv /build/hatch \
 && /build/hatch/bin/pip install --require-hashes --only-binary :all: --requirement docker/build.lock

# The core is compiled with the wheel, by the compiler of a package.
COPY . .
RUN /build/hatch/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /build/wheel . \
 && /opt/memplan/bin/pip install --no-deps /build/wheel/*.whl

# Tests and sources of packages, symbols for debuggers, and programs for other systems are not needed; nor is pip, where
# nothing is installed any more.
RUN /opt/memplan/bin/pip uninstall --yes pip setuptools \
 && cd /opt/memplan/lib/python3*/site-packages \
 && find . -depth -type d \( -name tests -o -name test -o -name sample_data \) -exec rm -r {} + \
 && find . -type f ! -path './memplan/*' \( -name '*.pyi' -o -name '*.c' -o -name '*.cc' -o -name '*.h' \) -delete \
 && find pulp/solverdir/cbc -mindepth 1 -maxdepth 1 ! -name linux -exec rm -r {} + \
 && case $(uname -m) in x86_64) mine=i64 ;; aarch64) mine=arm64 ;; *) mine='*' ;; esac \
 && find pulp/solverdir/cbc/linux -mindepth 1 -maxdepth 1 ! -name "$mine" -exec rm -r {} + \
 && { command -v strip || { apt-get update && apt-get install --yes --no-install-recommends binutils; } || true; } >/dev/null 2>&1 \
 && { ! command -v strip || find sqlalchemy uvloop httptools ortools \
      -name '*.so*' -type f -exec strip --strip-unneeded {} +; }

# Programs of packages which the service does not run: migrations are run by `memplan database`, tests of ONNX by none.
RUN mkdir /var/lib/memplan \
 && find /opt/memplan/bin -type f ! -name memplan -delete \
 && cd /opt/memplan/lib/python3*/site-packages \
 && rm -rf sqlalchemy/testing numpy/distutils numpy/f2py onnx/reference pydantic/v1


# Without the engines, which are two thirds of all packages: own searches answer, and a request that names an engine is
# refused. `docker build --target engines` keeps them.
FROM build AS lean
RUN cd /opt/memplan/lib/python3*/site-packages \
 && rm -r ortools* highspy* pulp* pandas* absl* immutabledict*


# The base image without what nobody asks for in a container: package lists and archives, documents (but licences), texts
# in other languages, pip, and rights that a program gets from its file.
FROM ${BASE} AS base
RUN rm -rf /var/cache/apt/* /var/lib/apt/lists/* /usr/share/locale /usr/share/man /usr/share/python-wheels /root/.cache \
 && find /usr/share/doc -type f ! -name copyright -delete \
 && find /usr /opt -xdev -depth -type d -path '*python3*' \
      \( -name ensurepip -o -name pip -o -name setuptools -o -name pkg_resources \) -exec rm -r {} + \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} +


FROM scratch AS runtime
COPY --from=base / /
LABEL org.opencontainers.image.title="memplan" \
      org.opencontainers.image.description="A memory planner: a pool and an offset for every buffer, with a proof or an honest gap" \
      org.opencontainers.image.licenses="Apache-2.0 AND MIT"
COPY --from=build --chown=10001:10001 /var/lib/memplan /var/lib/memplan
ENV PATH=/opt/memplan/bin:/usr/local/bin:/usr/bin:/bin \
    LANG=C.UTF-8 \
    PYTHONUNBUFFERED=1 \
    MEMPLAN_DATA_FOLDER=/var/lib/memplan
VOLUME /var/lib/memplan
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
    CMD ["python3", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["memplan"]
# Tried out of the box, it asks nobody for a key, and says so. Where others can reach it, leave that word out: see
# docs/operations.md.
CMD ["serve", "--host", "0.0.0.0", "--port", "8000", "--without-keys"]


FROM runtime AS engines
COPY --from=build /opt/memplan /opt/memplan


FROM runtime
COPY --from=lean /opt/memplan /opt/memplan
