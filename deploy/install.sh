#!/bin/sh
# Installs Relay @VERSION@. The same program is the relay and the agent: sh install.sh [folder]
#
# Check this file before you run it: its SHA-256 is on the page of the release. It contains the SHA-256 of each program,
# and installs none that differs.
set -eu

version='@VERSION@'
releases='@RELEASES@'
folder=${1:-/usr/local/bin}

digests='
@DIGESTS@
'

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

case $(uname -s)-$(uname -m) in
  Linux-x86_64) platform=linux-x86_64 ;;
  Linux-aarch64 | Linux-arm64) platform=linux-aarch64 ;;
  Darwin-x86_64) platform=darwin-x86_64 ;;
  Darwin-arm64) platform=darwin-aarch64 ;;
  *) fail "there is no program for this system: run relay-$version.js with Deno instead" ;;
esac
name=relay-$version-$platform
wanted=$(echo "$digests" | sed -n "s/^\([0-9a-f]*\)  $name\$/\1/p")
[ -n "$wanted" ] || fail "this release has no program $name"
[ -d "$folder" ] && [ -w "$folder" ] || fail "you cannot write into $folder: name another folder, or run this as root"

part=$folder/.relay-$$.part
trap 'rm -f "$part"' EXIT
if command -v curl >/dev/null; then
  curl -fsSL -o "$part" "$releases/$name" || fail "$releases/$name cannot be downloaded"
elif command -v wget >/dev/null; then
  wget -qO "$part" "$releases/$name" || fail "$releases/$name cannot be downloaded"
else
  fail "curl or wget is needed"
fi
if command -v sha256sum >/dev/null; then
  found=$(sha256sum <"$part")
else
  found=$(shasum -a 256 <"$part")
fi
[ "${found%% *}" = "$wanted" ] || fail "$name is not what was released: nothing was installed"

chmod 755 "$part"
mv -f "$part" "$folder/relay"
echo "$folder/relay: Relay $version
start a relay:      relay serve
pair this machine:  relay agent pair --url https://relay.example.com --code <code>, then relay agent"
