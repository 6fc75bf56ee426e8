/** CPU and memory of processes from Linux' `/proc`, and the median and quantiles of a series. */
import { readFileSync } from 'node:fs'

/** The kernel counts CPU in ticks of 10 ms, so only sums over many operations are meaningful. */
const tickMs = 10

/** User and system time of processes since their start. */
export function cpuMs(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0)
}

function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the program name in brackets, which may contain spaces.
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

/** Ends the benchmark with an error if a result is wrong, so that a fast but wrong server gets no figures. */
export function check(isRight: boolean, problem: string): void {
  if (!isRight) throw new Error(`The benchmark has failed: ${problem}`)
}
