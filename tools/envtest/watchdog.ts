/**
 * Cleans up if this process ends without running exit handlers: SIGKILL, a crash, the out-of-memory killer.
 * A shell outside our process group reads from a pipe, which closes when this process ends.
 * Used by processes.ts and build.ts. The folder is the interface: it contains the id of each process group in a file
 * "<name>.pid" (see `toLaunch`); if the folder does not exist, there is nothing to do.
 */
import { spawn } from 'node:child_process'

// The folder is renamed first: from then on a new child cannot write its pid file, and a child that cannot write it does not
// start. So every running child is in the list.
const script = `
cat > /dev/null
mv "$1" "$1.abandoned" 2> /dev/null || exit 0
for file in "$1.abandoned"/*.pid; do
  read -r pid < "$file" && kill -9 "-$pid"
done 2> /dev/null
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf "$1.abandoned" 2> /dev/null && exit 0
  sleep 0.2
done
`

// The shell writes its pid and then becomes the program with `exec`, which keeps the pid. If the folder is gone, the shell exits.
const launcher = 'echo $$ > "$1" && shift && exec "$@"'

/** The command that starts a program with a pid file for the watchdog. Spawn it detached, so that it leads a process group. */
export function toLaunch(pidFile: string, program: string, args: readonly string[]): [string, string[]] {
  return ['/bin/sh', ['-c', launcher, 'sh', pidFile, program, ...args]]
}

export interface Watchdog {
  readonly pid: number | undefined
  /** Call it after the folder is removed: the shell then has nothing to do and exits. */
  dismiss(): Promise<void>
}

export function startWatchdog(folder: string): Watchdog {
  const shell = spawn('/bin/sh', ['-c', script, 'kopf-watchdog', folder], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  const ended = new Promise<void>((resolve) => shell.once('exit', () => resolve()).once('error', () => resolve()))
  // The watchdog must not keep this process alive.
  shell.unref()
  const pipe = shell.stdin as typeof shell.stdin & { unref(): void }
  pipe.unref()
  pipe.on('error', () => {})
  return {
    pid: shell.pid,
    dismiss: () => {
      shell.ref()
      pipe.end()
      return ended
    },
  }
}
