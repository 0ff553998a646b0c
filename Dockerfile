# dsokr as a service: `docker build -t dsokr .`, then
# `docker run --rm -p 8080:8080 -v "$PWD/runs:/runs:ro" dsokr serve --host 0.0.0.0 --allow-host localhost /runs/NAME`
FROM rust:1.95-slim-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked && cp target/release/dsokr /dsokr

FROM debian:bookworm-slim
COPY --from=build /dsokr /usr/local/bin/dsokr
# nothing is written beside what is mounted
USER 65534:65534
WORKDIR /tmp
EXPOSE 8080
ENTRYPOINT ["dsokr"]
CMD ["--help"]
