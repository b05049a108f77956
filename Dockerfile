FROM golang:1.26-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -tags nomsgpack -ldflags "-s -w -X modelgateway/app.release=${VERSION}" -o /out/modelgateway . && mkdir -p /out/data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/modelgateway /modelgateway
COPY --from=build --chown=65532:65532 /out/data /data
ENV DATABASE_URL=sqlite:/data/gateway.db
USER 65532:65532
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 CMD ["/modelgateway", "-healthcheck"]
ENTRYPOINT ["/modelgateway"]
