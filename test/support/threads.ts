/** The threads of this process, to see that none is left. */
import type { Worker } from 'node:worker_threads'
import { afterAll, beforeAll } from 'vitest'

/** All that were started and have not ended. */
export function useThreads(): ReadonlySet<Worker> {
  const threads = new Set<Worker>()
  const note = (thread: Worker) => {
    threads.add(thread)
    thread.once('exit', () => threads.delete(thread))
  }
  beforeAll(() => void process.on('worker', note))
  afterAll(() => void process.off('worker', note))
  return threads
}
