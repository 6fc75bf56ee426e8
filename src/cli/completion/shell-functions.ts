/** Shell code that the completion scripts of bash and zsh share. */

/** Runs the kopf that the user means: that of the project, as npx does, or else that of the PATH. Never installs one. */
export const commandFinder: string = `_kopf_command() {
  local folder="$PWD"
  while [ ! -x "$folder/node_modules/.bin/kopf" ]; do
    if [ -z "$folder" ]; then command kopf "$@"; return; fi
    folder="\${folder%/*}"
  done
  "$folder/node_modules/.bin/kopf" "$@"
}`
