/** The embedded server as a child process of targets.ts: sends its address, and its heap size on request; exits with its parent. */
import { startServer } from 'kopf/server'

const [dataDir] = process.argv.slice(2)
const server = await startServer(dataDir === undefined ? {} : { dataDir })
process.send!({ url: server.url, caPem: server.ca!, token: server.token! })

process.on('message', () => {
  global.gc!()
  const { heapUsed, external } = process.memoryUsage()
  process.send!(heapUsed + external)
})
process.once('disconnect', () => void server.stop())
