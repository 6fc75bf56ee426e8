/** `kopf server --data-dir`, killed repeatedly during writes: acknowledged writes survive. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { Random } from '../../../simulation/random.ts'
import { Api } from '../../../support/api.ts'
import { configMap } from '../../../support/objects.ts'
import type { WatchEvent } from '../../../support/watch.ts'

const path = '/api/v1/namespaces/default/configmaps'
const rounds = 8
const writers = 8

let folder: string
let child: ChildProcess | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kopf-crash-test-'))
})
afterEach(async () => {
  await kill()
  rmSync(folder, { recursive: true, force: true })
})

async function start(): Promise<Api> {
  const args = [inject('command'), 'server', '--open', '--data-dir', join(folder, 'data')]
  child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  for await (const text of child.stdout!.setEncoding('utf8')) {
    said += text
    const url = /ready at (\S+)/.exec(said)?.[1]
    if (url !== undefined) return new Api({ url, credentials: {} })
  }
  throw new Error('The server did not start')
}

async function kill(): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** The possible states of one object after a crash. `undefined` means that it does not exist. */
class Key {
  readonly name: string
  acknowledged: string | undefined
  attempted: string | undefined

  constructor(name: string) {
    this.name = name
  }

  /** Writes the object. Resolves with the acknowledged resourceVersion. */
  async write(api: Api, value: string | undefined): Promise<number> {
    this.attempted = value
    const isThere = this.acknowledged !== undefined
    const { status, body } =
      value === undefined
        ? await api.delete(`${path}/${this.name}`)
        : isThere
          ? await api.mergePatch(`${path}/${this.name}`, { data: { value } })
          : await api.post(path, configMap(this.name, { data: { value } }))
    expect([200, 201]).toContain(status)
    this.acknowledged = value
    return Number(body.metadata.resourceVersion ?? 0)
  }
}

/** A client over all restarts: it resumes its watch, and keeps the state of all objects. */
class Follower {
  readonly values = new Map<string, string>()
  version = 0

  /** Watches until the event of this object, or until the server ends. */
  async follow(api: Api, last?: string): Promise<void> {
    const watch = await api.watch(path, { resourceVersion: this.version, allowWatchBookmarks: true })
    const isLast = ({ object }: WatchEvent) => object.metadata.name === last
    const events = last === undefined ? await watch.rest(60_000) : await watch.until(isLast)
    for (const { type, object } of events) {
      expect(type).not.toBe('ERROR')
      const version = Number(object.metadata.resourceVersion)
      expect(version).toBeGreaterThan(this.version)
      this.version = version
      if (type === 'DELETED') this.values.delete(object.metadata.name!)
      else this.values.set(object.metadata.name!, (object as unknown as { data: { value: string } }).data.value)
    }
  }
}

test('a killed server has all acknowledged writes after its restart, and no client has seen any other write', {
  timeout: 120_000,
}, async () => {
  const random = new Random('crashes')
  const keys = Array.from({ length: writers * 4 }, (_, index) => new Key(`k${index}`))
  const follower = new Follower()
  let highest = 0
  for (let round = 0; round < rounds; round += 1) {
    const api = await start()
    const list = (await api.get(path)).body
    const listed = new Map(
      list.items.map((item) => [item.metadata.name!, item as unknown as { data: { value: string } }]),
    )
    expect(Number(list.metadata.resourceVersion)).toBeGreaterThanOrEqual(highest)
    for (const key of keys) {
      const found = listed.get(key.name)?.data.value
      expect([key.acknowledged, key.attempted]).toContain(found)
      key.acknowledged = found
      key.attempted = found
    }
    follower.version ||= Number(list.metadata.resourceVersion)
    const following = follower.follow(api)
    let left = 20 + random.below(150)
    const write = async (writer: number) => {
      for (let count = 0; left > 0; count += 1) {
        const key = keys[writer * 4 + random.below(4)]!
        const value = key.acknowledged !== undefined && random.chance(0.2) ? undefined : `${round}-${writer}-${count}`
        highest = Math.max(highest, await key.write(api, value))
        left -= 1
        if (left === 0) await kill()
      }
    }
    await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer).catch(unlessCut)))
    await following
    highest = Math.max(highest, follower.version)
    api.close()
  }
  // The watching client has the state of the server.
  const api = await start()
  const { items } = (await api.get(path)).body
  await api.post(path, configMap('last', { data: { value: 'last' } }))
  await follower.follow(api, 'last')
  await kill()
  api.close()
  follower.values.delete('last')
  const expected = items.map((item) => [
    item.metadata.name,
    (item as unknown as { data: { value: string } }).data.value,
  ])
  expect([...follower.values].sort()).toEqual(expected.sort())
})

/** Ignores a connection that broke with the server: the write may or may not be stored. */
function unlessCut(error: NodeJS.ErrnoException): void {
  if (!['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(error.code ?? '')) throw error
}
