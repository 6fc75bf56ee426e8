/** Time, CPU and memory of processes, as Linux tells them, and the few numbers that a series comes down to. */
import { readFileSync } from 'node:fs'

/** The kernel counts CPU in ticks of 10 ms, so only sums over many operations say something. */
const tickMs = 10

/** User and system time of some processes since they began. */
export function cpuMs(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0)
}

function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the program's name in brackets, and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

export function rssBytes(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return sum + Number(kilobytes) * 1024
  }, 0)
}

export function loadAverage(): string {
  return readFileSync('/proc/loadavg', 'utf8').split(' ')[0]!
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Throws where a benchmark's result is not what it has to be: a fast wrong server scores nothing. */
export function check(isRight: boolean, what: string): void {
  if (!isRight) throw new Error(`The benchmark is void: ${what}`)
}
