/**
 * For `node --import`: lets worker threads run TypeScript. Node 20 cannot, and `--import tsx` affects only the main thread.
 */
import { isMainThread } from 'node:worker_threads'

if (!isMainThread) {
  const { register } = await import('tsx/esm/api')
  register()
}
