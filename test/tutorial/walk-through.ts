/** Registers one test for each tutorial page, in order: each page continues where the previous one ended. */
import { afterAll, beforeAll, test } from 'vitest'
import { stopCommands } from '../cli/run-support.ts'
import { pageNames, readPage, stepsOf, unfollowedPages } from './tutorial-pages.ts'
import { Reader, type ReaderOptions } from './tutorial-reader.ts'

export function walkThrough(options: ReaderOptions): void {
  let reader: Reader
  beforeAll(() => {
    reader = new Reader(options)
  })
  afterAll(async () => {
    await stopCommands()
    await reader.leave()
  })

  test.each(pageNames.filter((name) => !unfollowedPages.includes(name)))(
    'the tutorial page %s works step by step, with the output that it shows',
    { timeout: 120_000 },
    async (name) => {
      for (const step of stepsOf(readPage(name))) await reader.follow(step)
    },
  )
}
