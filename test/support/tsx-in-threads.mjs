/**
 * For `node --import`: threads can run TypeScript then. Node 20 cannot by itself, and `--import tsx` is for the main thread only.
 */
import { isMainThread } from 'node:worker_threads'

if (!isMainThread) {
  const { register } = await import('tsx/esm/api')
  register()
}
