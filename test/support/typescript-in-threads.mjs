/**
 * For `node --import`: lets worker threads run TypeScript. Node 20 cannot, and `--import tsx` affects only the main thread. A thread with
 * tsx takes 0.2 s of CPU time to start; these hooks keep the JavaScript of each file in a folder that all threads and runs share.
 */
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

if (!isMainThread) {
  // Node 26 prints a deprecation warning for register(). Its successor registerHooks() does not exist in Node 20.
  const { noDeprecation } = process
  process.noDeprecation = true
  register('./typescript-hooks.mjs', import.meta.url)
  process.noDeprecation = noDeprecation
}
