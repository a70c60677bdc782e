#!/bin/sh
# Starts Postgres, which speaks TLS only; makes its data folder at the first start.
set -eu
data=/var/lib/kappa/data
if [ ! -d "$data" ]; then
    rm -rf "$data.new"
    initdb -D "$data.new" -U postgres --pwfile=/run/kappa/password --encoding=UTF8 --locale=C.UTF-8 \
        --auth=scram-sha-256
    echo 'hostssl all all all scram-sha-256' >"$data.new/pg_hba.conf"
    mv "$data.new" "$data"
fi
exec postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories= -c timezone=UTC -c log_timezone=UTC \
    -c max_connections=120 -c ssl=on -c ssl_cert_file=/run/kappa/postgres.pem -c ssl_key_file=/run/kappa/postgres.key
