/** Which process is which, and whether it is still there. Asks only; ends nobody. */
import { readFileSync } from 'node:fs'

/** What tells a process from all others, also from later ones that get its number: `4711-1320248`. */
export function processIdentity(): string {
  return `${process.pid}-${startOf(process.pid) ?? 0}`
}

/** Whether the process of this identity is there; one that cannot be asked about counts as there. */
export function isProcessThere(identity: string): boolean {
  const [pid = 0, start = 0] = identity.split('-').map(Number)
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  const present = startOf(pid)
  return present === undefined || start === 0 || present === start
}

/** When it was started, in whatever unit; undefined where the system does not say so, -1 where nothing but its number is left. */
function startOf(pid: number): number | undefined {
  try {
    // The name of the program is in brackets, and may hold anything.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[0] === 'Z' ? -1 : Number(fields[19])
  } catch {
    return undefined
  }
}
