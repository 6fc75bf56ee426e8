/**
 * Leaves nothing behind when this process ends in a way that no handler sees: SIGKILL, a crash, the out-of-memory killer.
 * A shell outside our process group holds the other end of a pipe, which closes with us.
 * Used by processes.ts and build.ts. The folder is the whole contract: it holds the id of each process group in a file
 * "<name>.pid" (see `toLaunch`), and a folder that is gone means that there is nothing to do.
 */
import { spawn } from 'node:child_process'

// The folder changes its name first: from then on no new child can write its id, and a child that cannot write its id
// does not start. So every child that lives is in the list.
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

// The shell writes its id and becomes the program, which keeps the id. Where the folder is gone, it ends instead.
const launcher = 'echo $$ > "$1" && shift && exec "$@"'

/** What to spawn (detached, so that it leads a group) for a program that the watchdog shall know by its file. */
export function toLaunch(pidFile: string, program: string, args: readonly string[]): [string, string[]] {
  return ['/bin/sh', ['-c', launcher, 'sh', pidFile, program, ...args]]
}

export interface Watchdog {
  readonly pid: number | undefined
  /** To be called when the folder is gone: it has nothing to do then, and ends. */
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
  // It must not keep the process alive that it watches.
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
