/** A client of an empty cluster, which is made when something is first asked of it. */
import type { Client } from '../client/client.ts'
import { toCrds } from '../kube/crd.ts'
import type { CustomResource } from '../kube/resources.ts'
import { ApiServer } from '../server/api-server.ts'
import { loadObjects } from '../server/load.ts'
import { systemClock } from '../util/clock.ts'
import { once } from '../util/once.ts'
import { createTestAccess, createTestSession } from './site.ts'

/** With the definitions of these resources in it. */
export function createLazyClient(definitions: readonly CustomResource<object>[], namespace: string): Client {
  const start = once(async () => {
    const server = new ApiServer()
    await loadObjects(server, toCrds(definitions))
    return server
  })
  const transport = { send: async (...args: Parameters<ApiServer['send']>) => (await start()).send(...args) }
  return createTestAccess(createTestSession(transport, systemClock), namespace).client
}
