/** Tracks the worker threads of this process, to check that all of them end. */
import type { Worker } from 'node:worker_threads'
import { afterAll, beforeAll } from 'vitest'

/** The threads that have started and not ended. */
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
