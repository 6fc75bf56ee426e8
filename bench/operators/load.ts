/** The load, and the look at what came of it: objects made and changed, a watch that counts, a check of each object. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Access, Connection, type Request } from '../connection.ts'
import { openConnections, sendAll } from '../driver.ts'
import { mergePatch } from '../fixtures.ts'
import { check } from '../measure.ts'
import { type Gadget, pathOf } from './resource.ts'

const inFlight = 16

export async function sendMany(access: Access, requests: readonly Request[], status: number): Promise<void> {
  const connections = await openConnections(access, inFlight)
  try {
    await sendAll(connections, requests, status)
  } finally {
    for (const connection of connections) connection.close()
  }
}

export function toCreations(namespace: string, count: number, toBody: (index: number) => string): Request[] {
  const path = pathOf(namespace)
  return Array.from({ length: count }, (_, index) => ({ method: 'POST', path, body: toBody(index) }))
}

export function toResize(namespace: string, name: string, size: number): Request {
  const body = JSON.stringify({ spec: { size } })
  return { method: 'PATCH', path: `${pathOf(namespace)}/${name}`, body, contentType: mergePatch }
}

export async function readAll(access: Access, namespace: string): Promise<Gadget[]> {
  const connection = await Connection.open(access)
  const { status, body } = await connection.send({ path: pathOf(namespace) })
  connection.close()
  check(status === 200, `the objects were not listed: ${status}`)
  return (JSON.parse(body.toString()) as { items: Gadget[] }).items
}

/** At their times, whether or not the ones before are answered; as many at once as it takes, up to sixteen. */
export async function sendPaced(access: Access, requests: readonly Request[], perSecond: number): Promise<void> {
  const connections = await openConnections(access, inFlight)
  const began = performance.now()
  let next = 0
  const work = async (connection: Connection): Promise<void> => {
    while (next < requests.length) {
      const index = next++
      await sleep(Math.max(0, began + (index * 1000) / perSecond - performance.now()))
      const { status, body } = await connection.send(requests[index]!)
      check(status === 200, `an edit was answered ${status}: ${body}`)
    }
  }
  await Promise.all(connections.map(work))
  for (const connection of connections) connection.close()
}

/** Counts the objects whose status says what their spec says. */
export class HandledWatch {
  readonly #handled = new Set<string>()
  readonly #connection: Connection
  #rest = ''
  #isSatisfied: () => boolean = () => false
  #resolve: () => void = () => {}
  #lastAt = 0

  private constructor(connection: Connection) {
    this.#connection = connection
  }

  static async open(access: Access, namespace: string, labelSelector = ''): Promise<HandledWatch> {
    const watch = new HandledWatch(await Connection.open(access))
    const selector = labelSelector === '' ? '' : `&labelSelector=${encodeURIComponent(labelSelector)}`
    const path = `${pathOf(namespace)}?watch=true&resourceVersion=0${selector}`
    watch.#connection.stream({ path }, (bytes) => watch.#hear(bytes.toString())).catch(() => {})
    return watch
  }

  /** When the last of so many was handled, on the clock of `performance.now()`. */
  async until(count: number, timeoutMs: number): Promise<number> {
    this.#isSatisfied = () => this.#handled.size >= count
    if (!this.#isSatisfied()) {
      const done = new Promise<void>((resolve) => {
        this.#resolve = resolve
      })
      const timer = setTimeout(() => this.#resolve(), timeoutMs)
      await done
      clearTimeout(timer)
    }
    check(this.#handled.size >= count, `only ${this.#handled.size} of ${count} objects were handled in time`)
    return this.#lastAt
  }

  close(): void {
    this.#connection.close()
  }

  #hear(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#take((JSON.parse(line) as { object: Gadget }).object)
    if (this.#isSatisfied()) this.#resolve()
  }

  #take({ metadata, spec, status }: Gadget): void {
    if (status?.observed !== spec.size || this.#handled.has(metadata.name)) return
    this.#handled.add(metadata.name)
    this.#lastAt = performance.now()
  }
}

/** The contract, object by object: a fast wrong operator scores nothing. */
export function checkHandled(gadgets: readonly Gadget[], count: number): void {
  check(gadgets.length === count, `${gadgets.length} objects where ${count} were made`)
  for (const { metadata, spec, status } of gadgets) {
    check(status?.observed === spec.size, `${metadata.name}: observed ${status?.observed} of ${spec.size}`)
    check(metadata.finalizers?.length === 1, `${metadata.name} has not one finalizer`)
  }
}
