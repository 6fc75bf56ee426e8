/** One test for each page of the walk-through, in their order: each goes on where the one before has ended. */
import { afterAll, beforeAll, test } from 'vitest'
import { stopCommands } from '../cli/run-support.ts'
import { pageNames, readPage, stepsOf } from './pages.ts'
import { Reader, type ReaderOptions } from './reader.ts'

export function walkThrough(options: ReaderOptions): void {
  let reader: Reader
  beforeAll(() => {
    reader = new Reader(options)
  })
  afterAll(async () => {
    await stopCommands()
    await reader.leave()
  })

  test.each(pageNames)('%s', { timeout: 120_000 }, async (name) => {
    for (const step of stepsOf(readPage(name))) await reader.follow(step)
  })
}
