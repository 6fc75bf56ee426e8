/** Measures a running operator from outside: its CPU, its memory, its requests, and when it becomes idle. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AuditEntry, isWrite } from '../../tools/kopf/audit-log.ts'
import type { OperatorProcess } from '../../tools/kopf/operator-process.ts'
import type { BenchCluster } from './bench-cluster.ts'
import { check, cpuMs } from './measure.ts'
import { plural } from './schemaless-gadgets.ts'

export interface RunningOperator extends AsyncDisposable {
  readonly process: OperatorProcess
  readonly user: string
  readonly namespace: string
  /** The start of the process, in milliseconds since 1970. */
  readonly startedAt: number
}

export function cpuOf({ process }: RunningOperator): number {
  return cpuMs([process.pid])
}

export function rssMb({ process }: RunningOperator, which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const status = readFileSync(`/proc/${process.pid}/status`, 'utf8')
  return Number(new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024
}

/** The requests of this operator for gadgets since its start. */
export function requestsOf(cluster: BenchCluster, { user, startedAt, namespace }: RunningOperator): AuditEntry[] {
  return cluster.audit().filter((entry) => {
    const isOurs = entry.user === user && entry.at >= startedAt - 1
    return isOurs && entry.resource === plural && entry.namespace === namespace
  })
}

export function writesOf(cluster: BenchCluster, running: RunningOperator): AuditEntry[] {
  return requestsOf(cluster, running).filter(isWrite)
}

/** Resolves with the seconds from the start of the process to the start of its watch. */
export async function untilWatching(
  cluster: BenchCluster,
  running: RunningOperator,
  timeoutMs = 120_000,
): Promise<number> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const watch = requestsOf(cluster, running).find(({ verb }) => verb === 'watch')
    if (watch !== undefined) return (watch.at - running.startedAt) / 1000
    checkRunning(running)
    check(Date.now() < deadline, `${running.process.name} opened no watch\n${running.process.output.slice(-2000)}`)
    await sleep(20)
  }
}

/** Waits until the operator uses less than 2 % of a core for `quietMs`. Resolves with the seconds from its start to its last work. */
export async function untilIdle(running: RunningOperator, quietMs = 1_000): Promise<number> {
  let lastWork = Date.now()
  let cpu = cpuOf(running)
  while (Date.now() - lastWork < quietMs) {
    await sleep(100)
    checkRunning(running)
    const now = cpuOf(running)
    if (now - cpu > 20) {
      cpu = now
      lastWork = Date.now()
    }
  }
  return (lastWork - running.startedAt) / 1000
}

/** Resolves when the condition holds and the operator has written nothing for one second. */
export async function untilSettled(
  cluster: BenchCluster,
  running: RunningOperator,
  holds: () => boolean,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  let count = -1
  let since = Date.now()
  for (;;) {
    const now = writesOf(cluster, running).length
    if (now !== count) since = Date.now()
    count = now
    const isRight = holds()
    if (isRight && Date.now() - since >= 1_000) return
    checkRunning(running)
    const last = running.process.output.slice(-1500)
    check(Date.now() < deadline, `${running.process.name} did not settle (${isRight ? 'busy' : 'missing'})\n${last}`)
    await sleep(50)
  }
}

/** The number of handler runs: operators print a line "run <reason> <name>" for each. */
export function runsOf({ process }: RunningOperator, reason?: string, name?: string): number {
  const lines = process.output.split('\n').filter((line) => line.startsWith('run '))
  return lines.filter((line) => {
    const [, itsReason, itsName] = line.split(' ')
    return (reason === undefined || itsReason === reason) && (name === undefined || itsName === name)
  }).length
}

function checkRunning({ process }: RunningOperator): void {
  check(process.ended === undefined, `${process.name} ended with ${process.ended}\n${process.output.slice(-2000)}`)
}
