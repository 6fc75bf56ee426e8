/** Reading a large collection: as one body, and in pages. The bytes are counted as they come, and the objects in them. */
import { Connection } from './connection.ts'
import { gadgetsPath } from './fixtures.ts'
import { check, cpuMs } from './measure.ts'
import type { Target } from './targets.ts'

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
  // From what the server has at hand, as informers do.
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

/** The metadata of a list stands before its items or after them: JSON leaves that open. */
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
