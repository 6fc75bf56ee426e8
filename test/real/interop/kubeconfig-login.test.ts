/** Python's Kopf and this package log in with the same kubeconfigs: a token, or a client certificate and its key. */
import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { createTokenUser } from '../../../tools/kopf/service-account.ts'
import { useCluster } from '../../support/cluster.ts'
import { isHandled, type Language, Objects, startOperator, useKopf } from './paired-operators.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()
const kubeconfigs = new Map<string, string>([['a certificate', real.kubeconfigs.operator]])

beforeAll(async () => {
  await cluster.install({ kind: 'Widget', subresources: { status: {} } })
  const name = `operator-${randomBytes(4).toString('hex')}`
  const admin = { url: real.url, caPem: real.caPem, user: real.admin }
  const user = await createTokenUser(admin, name, dirname(real.kubeconfigs.admin))
  kubeconfigs.set('a token', user.kubeconfig)
})

describe.each<Language>(['python', 'ours'])('logins of %s', (language) => {
  test.each(['a certificate', 'a token'])(
    'an operator logs in with %s in a kubeconfig, and exits with status 0',
    async (credentials) => {
      const name = `${language}-${credentials.split(' ')[1]}`
      const apiVersion = `${cluster.group}/v1`
      const widgets = new Objects(cluster.api, cluster.custom('widgets'), { apiVersion, kind: 'Widget' })
      const env = { GROUP: cluster.group, PHASE: 'second' }
      const kubeconfig = kubeconfigs.get(credentials)!
      await using operator = await startOperator(language, {
        name: 'handover',
        namespace: cluster.namespace,
        kubeconfig,
        env,
      })
      await widgets.create(name, { case: 'handled' })
      await widgets.until(name, operator, isHandled)
      await operator.stop()
      expect(operator.ended, operator.output).toBe('status 0')
    },
  )
})
