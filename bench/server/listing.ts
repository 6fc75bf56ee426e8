/** Lists a large collection as one body and in pages, and counts its bytes and objects. */
import { Connection } from '../lib/connection.ts'
import { gadgetsPath } from '../lib/gadgets.ts'
import { check, cpuMs } from '../lib/measure.ts'
import type { Target } from '../lib/targets.ts'

export interface Listing {
  readonly seconds: number
  readonly firstByteMs: number
  readonly megabytes: number
  readonly cpuMs: number
}

const uidKey = Buffer.from('"uid":"')

function countObjects(body: Buffer): number {
  let count = 0
  for (let at = body.indexOf(uidKey); at >= 0; at = body.indexOf(uidKey, at + uidKey.length)) count += 1
  return count
}

export async function listWhole({ access, pids }: Target, expected: number): Promise<Listing> {
  const connection = await Connection.open(access)
  const pieces: Buffer[] = []
  let firstByteMs = 0
  const cpuBefore = cpuMs(pids)
  const began = performance.now()
  // resourceVersion=0 lets the server use its cache, like informers do.
  const status = await connection.stream({ path: `${gadgetsPath}?resourceVersion=0` }, (bytes) => {
    if (pieces.length === 0) firstByteMs = performance.now() - began
    pieces.push(bytes)
  })
  const seconds = (performance.now() - began) / 1000
  const cpu = cpuMs(pids) - cpuBefore
  connection.close()
  const body = Buffer.concat(pieces)
  check(status === 200 && countObjects(body) === expected, `the list has ${countObjects(body)} objects`)
  return { seconds, firstByteMs, megabytes: body.length / 1e6, cpuMs: cpu }
}

/** Searches both ends of the body: the metadata of a list may come before its items or after them. */
function continueToken(body: Buffer): string {
  const ends = body.toString('latin1', 0, 1000) + body.toString('latin1', Math.max(0, body.length - 1000))
  return /"continue":"([^"]+)"/.exec(ends)?.[1] ?? ''
}

export async function listPages({ access, pids }: Target, expected: number, limit: number): Promise<Listing> {
  const connection = await Connection.open(access)
  const cpuBefore = cpuMs(pids)
  const began = performance.now()
  const pages: Buffer[] = []
  let firstByteMs = 0
  let token = ''
  do {
    const path = `${gadgetsPath}?limit=${limit}${token && `&continue=${token}`}`
    const { status, body } = await connection.send({ path })
    check(status === 200, `a page was refused: ${status}`)
    pages.push(body)
    firstByteMs ||= performance.now() - began
    token = continueToken(body)
  } while (token !== '')
  const seconds = (performance.now() - began) / 1000
  connection.close()
  const count = pages.reduce((sum, page) => sum + countObjects(page), 0)
  check(count === expected, `the pages have ${count} objects`)
  const bytes = pages.reduce((sum, page) => sum + page.length, 0)
  return { seconds, firstByteMs, megabytes: bytes / 1e6, cpuMs: cpuMs(pids) - cpuBefore }
}
