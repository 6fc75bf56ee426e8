/** Torn, damaged and missing files: effects of a crash are repaired, any other damage is an error. */
import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { UnreliableDisk } from '../../../test/support/unreliable-disk.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { openStore } from './data.ts'
import { toFrame } from './frames.ts'

const rules = {}
const first = '0000000001.log'
const told: string[] = []
const log = { debug: () => {}, info: () => {}, warn: (line: string) => void told.push(line), error: () => {} }
const options = { limits: { changes: 100, characters: 100_000 }, clock: new ManualClock(), log, segmentBytes: 1e6 }
const open = (disk: UnreliableDisk) => openStore(disk, options)

const thing = (name: string, rest: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, uid: `uid-${name}` },
  ...rest,
})

/** Writes `count` objects, each in its own frame, and returns the offsets where the frames end. */
async function write(count: number): Promise<{ bytes: Buffer; ends: number[] }> {
  const disk = new UnreliableDisk()
  const { store } = await open(disk)
  const ends: number[] = []
  for (let index = 1; index <= count; index += 1) {
    store.create('things', thing(`t${index}`, { note: 'Grüße \u2028 ~0000000010 00000000' }), rules)
    await store.settled()
    ends.push(disk.get(first).length)
  }
  return { bytes: disk.get(first), ends }
}

async function read(files: Readonly<Record<string, Buffer>>): Promise<string[]> {
  const disk = new UnreliableDisk()
  for (const [name, bytes] of Object.entries(files)) disk.put(name, Buffer.from(bytes))
  const { store, close } = await open(disk)
  const names = [...store.states()].map(({ name }) => name)
  // The log continues from there, and is found again.
  store.create('things', thing('more'), rules)
  await store.settled()
  await close()
  const again = await open(disk)
  expect([...again.store.states()].map(({ name }) => name)).toEqual([...names, 'more'])
  return names
}

beforeEach(() => void told.splice(0))

test('a log that is torn at any byte of its end loses nothing that came before', async () => {
  const { bytes, ends } = await write(3)
  for (let length = ends[1]! + 1; length < ends[2]!; length += 1) {
    told.length = 0
    expect(await read({ [first]: bytes.subarray(0, length) })).toEqual(['t1', 't2'])
    expect(told).toEqual([
      `Cutting off the last ${length - ends[1]!} bytes of "${first}": a crash has torn them, and nothing in them was acknowledged`,
    ])
  }
})

test('a log that is torn before anything was kept in it is as if it were not there', async () => {
  const { bytes, ends } = await write(1)
  for (let length = 0; length < ends[0]!; length += 7)
    expect(await read({ [first]: bytes.subarray(0, length) })).toEqual([])
})

test('blocks at the end that were never written are cut off, too', async () => {
  const { bytes, ends } = await write(3)
  const torn = Buffer.from(bytes).fill(0, ends[1]! + 30)
  expect(await read({ [first]: torn })).toEqual(['t1', 't2'])
  expect(await read({ [first]: Buffer.concat([bytes, Buffer.alloc(4096)]) })).toEqual(['t1', 't2', 't3'])
})

test('a byte that is another anywhere before the end is damage, told with the file and the place', async () => {
  const { bytes, ends } = await write(3)
  for (let at = 0; at < ends[1]!; at += 1) {
    const damaged = Buffer.from(bytes)
    damaged[at] = damaged[at]! ^ 0x20
    const start = at < ends[0]! ? 0 : ends[0]!
    await expect(read({ [first]: damaged })).rejects.toMatchObject({
      code: 'KOPF_SERVER_DATA',
      message: `Cannot use the data directory "/data": "/data/${first}" is damaged at byte ${start}: its checksum is wrong; put the directory back from a copy, or name another one to begin with nothing`,
    })
  }
})

describe('several files', () => {
  /** The files of two runs of the server, each with its own log file. */
  async function twoLives(): Promise<Record<string, Buffer>> {
    const disk = new UnreliableDisk()
    for (const name of ['one', 'two']) {
      const { store, close } = await open(disk)
      store.create('things', thing(name), rules)
      await close()
    }
    return { [first]: disk.get(first), '0000000002.log': disk.get('0000000002.log') }
  }

  test('are read in their order', async () => {
    expect(await read(await twoLives())).toEqual(['one', 'two'])
  })

  test('of which an earlier one is torn are damaged: it was whole when the next was begun', async () => {
    const files = await twoLives()
    files[first] = files[first]!.subarray(0, -1)
    await expect(read(files)).rejects.toThrow(`"/data/${first}" is damaged at byte 0`)
  })

  test('of which one is missing are refused', async () => {
    const { [first]: _, ...rest } = await twoLives()
    await expect(read(rest)).rejects.toThrow(`"/data/${first}" is missing`)
  })

  test('what an earlier one has behind its end, as the next one says, was never kept', async () => {
    const files = await twoLives()
    files[first] = Buffer.concat([files[first]!, toFrame(['3 put things {"metadata":{"name":"refused"}}'])])
    expect(await read(files)).toEqual(['one', 'two'])
  })
})

test.each([
  ['what is no record', 'nonsense'],
  ['a version that is not the next', '9 put things {"metadata":{"name":"a"}}'],
  ['the end of what is not there', '2 del things a'],
  ['a text that is no object', '2 put things {'],
])('%s makes no sense, whatever its checksum', async (_, line) => {
  await expect(read({ [first]: toFrame(['log after 0 0', line]) })).rejects.toThrow(
    'is damaged at byte 0: it makes no sense',
  )
})

describe('a snapshot', () => {
  const name = '0000000005.snapshot'
  const record = '7 put things {"metadata":{"name":"a"}}'
  const whole = toFrame(['snapshot 7', record, 'end 1'])

  test('is where reading begins: what is older is not needed', async () => {
    const old = toFrame(['log after 0 0', '2 put things {"metadata":{"name":"older"}}'])
    expect(await read({ [name]: whole, '0000000004.log': old, '0000000005.snapshot.draft': old })).toEqual(['a'])
  })

  test('may hold what is in the log after it', async () => {
    const log = toFrame(['log after 4 999', record, '8 put things {"metadata":{"name":"b"}}'])
    expect(await read({ [name]: whole, '0000000005.log': log })).toEqual(['a', 'b'])
  })

  test.each<[string, Buffer]>([
    ['without its end', toFrame(['snapshot 7', record])],
    ['with fewer objects than it had', toFrame(['snapshot 7', 'end 1'])],
    ['with something behind its end', Buffer.concat([whole, toFrame(['end 1'])])],
    ['that is torn', whole.subarray(0, -1)],
    ['that is empty', Buffer.alloc(0)],
    ['that is something else', toFrame(['log after 0 0'])],
  ])('%s is damaged', async (_, bytes) => {
    await expect(read({ [name]: bytes })).rejects.toThrow(`"/data/${name}" is damaged at byte`)
  })
})

test('integers that only 64 bits can hold come back as they were', async () => {
  const disk = new UnreliableDisk()
  const { store, close } = await open(disk)
  const stored = store.create('things', thing('big', { value: 9007199254740993n }), rules)!
  await close()
  const again = (await open(disk)).store.collection('things').get('big')!
  expect(again).toMatchObject({ json: stored.json, isExact: true })
})
