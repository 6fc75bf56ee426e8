/** One sequence of commands on both servers, step by step; stops at the first step that they answer differently. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Body } from '../../../support/answers.ts'
import type { Api } from '../../../support/api.ts'
import { type Command, concernsCollector, describeCommand, isWrite } from './commands.ts'
import { FuzzedServer } from './fuzzed-server.ts'
import { Normaliser } from './normalise-answers.ts'

export interface Servers {
  readonly real: Api
  readonly embedded: Api
}

/** Both answers to the last of these commands, made comparable. */
export interface Difference {
  readonly step: number
  readonly what: string
  readonly real: unknown
  readonly embedded: unknown
}

interface Side {
  readonly world: FuzzedServer
  readonly normaliser: Normaliser
}

/** The time that the garbage collector and the caches of the real API server may take. */
const patienceMs = 8000
const quietMs = 100
const collectorMs = 250

export async function findDifference(servers: Servers, commands: readonly Command[]): Promise<Difference | undefined> {
  const namespace = `fuzz-${randomBytes(5).toString('hex')}`
  const sides = [servers.real, servers.embedded].map((api) => ({
    world: new FuzzedServer(api, namespace),
    normaliser: new Normaliser(namespace),
  })) as [Side, Side]
  await both(sides, ({ world }) =>
    world.api.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }),
  )
  try {
    return (await compareAnswers(sides, commands)) ?? (await compareWatches(sides, commands))
  } finally {
    await both(sides, ({ world }) => world.clean())
  }
}

async function both<T>([real, embedded]: [Side, Side], act: (side: Side) => Promise<T>): Promise<[T, T]> {
  return Promise.all([act(real), act(embedded)])
}

async function compareAnswers(sides: [Side, Side], commands: readonly Command[]): Promise<Difference | undefined> {
  let needsSettling = false
  const lastWrite = commands.findLastIndex(isWrite)
  for (const [step, command] of commands.entries()) {
    const [real, embedded] = await both(sides, (side) => execute(side, command))
    if (!isDeepStrictEqual(real, embedded)) return { step, what: describeCommand(command), real, embedded }
    needsSettling ||= concernsCollector(command)
    if (!needsSettling || !isWrite(command)) continue
    // After the last write, a collector that has not started yet is given time to start.
    if (step === lastWrite) await sleep(collectorMs)
    const difference = await settle(sides)
    if (difference !== undefined) return { step, what: `after ${describeCommand(command)}`, ...difference }
  }
  return undefined
}

async function execute({ world, normaliser }: Side, command: Command): Promise<unknown> {
  // A list or a watch from the version 0 may be served from a stale cache; a plain list updates it.
  if (command.query?.['resourceVersion'] === '0') await world.list(command.resource)
  if (command.method !== 'WATCH') return normaliser.answer(await world.send(command))
  const refusal = await world.watch(command)
  return refusal === undefined ? 'watching' : normaliser.answer(refusal)
}

/** Waits until the garbage collectors of both servers have reached the same state. */
async function settle(sides: [Side, Side]): Promise<Pick<Difference, 'real' | 'embedded'> | undefined> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    const [real, embedded] = await both(sides, ({ world }) => world.list('configmaps'))
    const isOver = Date.now() > deadline
    if (!isOver && !isDeepStrictEqual(outline(real), outline(embedded))) {
      await sleep(20)
      continue
    }
    const shown = { real: sides[0].normaliser.value(real), embedded: sides[1].normaliser.value(embedded) }
    return isDeepStrictEqual(shown.real, shown.embedded) ? undefined : shown
  }
}

/** The fields that the garbage collector changes, without values that differ between servers. */
function outline({ items }: Body): unknown {
  return items.map(({ metadata }) => [
    metadata['generateName'] ?? metadata.name,
    metadata.finalizers,
    metadata.ownerReferences?.map(({ name, blockOwnerDeletion }) => [name, blockOwnerDeletion]),
    metadata.deletionTimestamp !== undefined,
  ])
}

async function compareWatches(sides: [Side, Side], commands: readonly Command[]): Promise<Difference | undefined> {
  const opened = commands.filter(({ method }) => method === 'WATCH')
  const isOrdered = !commands.some(concernsCollector)
  const [real, embedded] = sides
  for (const [index, watch] of real.world.watches.entries()) {
    const counterpart = embedded.world.watches[index]!
    await quiet(() => watch.lines.length === counterpart.lines.length)
    const shown = {
      real: real.normaliser.events(await eventsOf(watch), isOrdered),
      embedded: embedded.normaliser.events(await eventsOf(counterpart), isOrdered),
    }
    const what = `the events of watch ${index + 1} of: ${opened.map(describeCommand).join('; ')}`
    if (!isDeepStrictEqual(shown.real, shown.embedded)) return { step: commands.length - 1, what, ...shown }
  }
  return undefined
}

async function eventsOf(watch: FuzzedServer['watches'][number]): ReturnType<FuzzedServer['watches'][number]['take']> {
  return watch.take(watch.lines.length)
}

/** Waits until the condition has held for `quietMs`, or until half of the patience is over. */
async function quiet(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + patienceMs / 2
  let since = Date.now()
  while (Date.now() < deadline && Date.now() - since < quietMs) {
    await sleep(10)
    if (!isSo()) since = Date.now()
  }
}
