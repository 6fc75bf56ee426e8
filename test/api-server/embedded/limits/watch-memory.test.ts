/** Memory that an open watch keeps, measured in a separate process after a garbage collection. */
import { expect, test } from 'vitest'
import { runScript } from '../../../support/scripts.ts'

const mebibyte = 1024 * 1024

/** Heap after 20 MiB of objects were written, seen by a watch, and replaced by small ones, whose history was compacted. */
const source = `
  import { ApiServer } from 'kopf/server'
  const api = new ApiServer()
  const path = '/api/v1/namespaces/default/configmaps'
  const send = (method, path, body) => api.send({
    method, path, body: JSON.stringify(body), headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
  })
  const names = Array.from({ length: 80 }, (_, index) => 'large-' + index)
  const start = api.version
  for (const name of names) await send('POST', path, { metadata: { name }, data: { text: name.padEnd(${mebibyte / 4}, 'x') } })
  const query = process.argv[1].replace('START', start)
  const watch = await api.send({ method: 'GET', path: path + '?watch=true&' + query })
  const chunks = watch.body[Symbol.asyncIterator]()
  for (let seen = 0; seen < names.length; ) {
    const { value } = await chunks.next()
    seen += Buffer.from(value).toString().split('"name":"large-').length - 1
  }
  void chunks.next()
  for (const name of names) await send('PATCH', path + '/' + name, { data: { text: 'small' } })
  await chunks.next()
  api.compact()
  await new Promise((resolve) => setImmediate(resolve))
  gc()
  console.log(api.openWatches + ' ' + process.memoryUsage().heapUsed)
  await api.close()`

test.each([
  ['its initial objects', 'resourceVersion=0'],
  ['the changes that it caught up with', 'resourceVersion=START'],
])('an open watch does not keep %s', async (_, query) => {
  const [open, heap] = (await runScript(source, { args: [query], nodeArgs: ['--expose-gc'] })).split(' ').map(Number)
  expect(open).toBe(1)
  // The server caches the last sent lines for other watches, up to 4 MiB.
  expect(heap).toBeLessThan(22 * mebibyte)
})
