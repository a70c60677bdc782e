#!/bin/sh
# What holds for three clients, and from when. Said again, it changes nothing; a day that is settled is not moved.
set -e
cd "$(dirname "$0")/.."
./kappa client set example --time-zone Europe/Berlin --currency EUR --daily-budget 100.50
./kappa client set men --time-zone Asia/Tokyo --currency JPY
./kappa client set women --time-zone America/New_York --currency USD --daily-budget 75
./kappa client set women --time-zone America/New_York --currency USD --daily-budget 90 --valid-from 2030-01-01
