/** Looks at one running operator from outside: its processor time, its memory, its requests, and when it comes to rest. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AuditEntry, isWrite } from '../../tools/kopf/audit-log.ts'
import { check, cpuMs } from '../measure.ts'
import type { Running } from './contenders.ts'
import { plural } from './resource.ts'
import type { World } from './world.ts'

export function cpuOf({ process }: Running): number {
  return cpuMs([process.pid])
}

export function rssMb({ process }: Running, which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const status = readFileSync(`/proc/${process.pid}/status`, 'utf8')
  return Number(new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024
}

/** Requests of this operator for the resource, since it was started. */
export function requestsOf(world: World, { user, startedAt, namespace }: Running): AuditEntry[] {
  return world.audit().filter((entry) => {
    const isOurs = entry.user === user && entry.at >= startedAt - 1
    return isOurs && entry.resource === plural && entry.namespace === namespace
  })
}

export function writesOf(world: World, running: Running): AuditEntry[] {
  return requestsOf(world, running).filter(isWrite)
}

/** Resolves with the seconds from the start of the process to the beginning of its watch. */
export async function untilWatching(world: World, running: Running, timeoutMs = 120_000): Promise<number> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const watch = requestsOf(world, running).find(({ verb }) => verb === 'watch')
    if (watch !== undefined) return (watch.at - running.startedAt) / 1000
    checkRunning(running)
    check(Date.now() < deadline, `${running.process.name} opened no watch\n${running.process.output.slice(-2000)}`)
    await sleep(20)
  }
}

/** Resolves with the seconds from the start to the last sign of work: less than 2 % of the core for one second. */
export async function untilIdle(running: Running, quietMs = 1_000): Promise<number> {
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

/** Resolves when the condition holds and no write has come for a second. */
export async function untilSettled(
  world: World,
  running: Running,
  holds: () => boolean,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  let count = -1
  let since = Date.now()
  for (;;) {
    const now = writesOf(world, running).length
    if (now !== count) since = Date.now()
    count = now
    const isRight = holds()
    if (isRight && Date.now() - since >= 1_000) return
    checkRunning(running)
    const last = running.process.output.slice(-1500)
    check(
      Date.now() < deadline,
      `${running.process.name} did not come to rest (${isRight ? 'busy' : 'missing'})\n${last}`,
    )
    await sleep(50)
  }
}

/** How often handlers ran: operators print a line "run <reason> <name>" for each. */
export function runsOf({ process }: Running, reason?: string, name?: string): number {
  const lines = process.output.split('\n').filter((line) => line.startsWith('run '))
  return lines.filter((line) => {
    const [, itsReason, itsName] = line.split(' ')
    return (reason === undefined || itsReason === reason) && (name === undefined || itsName === name)
  }).length
}

function checkRunning({ process }: Running): void {
  check(process.ended === undefined, `${process.name} ended with ${process.ended}\n${process.output.slice(-2000)}`)
}
