/** Identifies processes and checks whether they are alive, for the lock of the server's storage. Ends no process. */
import { readFileSync } from 'node:fs'

/** Identifies this process also among later ones with the same pid: pid and start time, `4711-1320248`. */
export function processIdentity(): string {
  return `${process.pid}-${startTime(process.pid) ?? 0}`
}

/** Whether the process is alive; true if that cannot be determined. */
export function isProcessAlive(identity: string): boolean {
  const [pid = 0, start = 0] = identity.split('-').map(Number)
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  const present = startTime(pid)
  return present === undefined || start === 0 || present === start
}

/** The start time in clock ticks; undefined on systems without /proc, -1 for a zombie. */
function startTime(pid: number): number | undefined {
  try {
    // The program's name is in parentheses and may contain any character.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[0] === 'Z' ? -1 : Number(fields[19])
  } catch {
    return undefined
  }
}
