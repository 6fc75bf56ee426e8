/** kubectl commands about permissions and tokens on both servers with RBAC: the output must be the same. */
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eventually } from '../../../support/expectations.ts'
import { Kubectl, normalise, type Outcome } from './run-kubectl.ts'

const real = inject('realCluster')
const folder = mkdtempSync(join(tmpdir(), 'kubectl-access-'))
const namespace = `kubectl-access-${randomBytes(4).toString('hex')}`
const account = `system:serviceaccount:${namespace}:robot`
const servers = ['real', 'embedded'] as const
let embedded: RunningServer

const rules = (verbs: string) => `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: writer, namespace: ${namespace} }
rules: [{ apiGroups: [""], resources: [configmaps], verbs: [${verbs}] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: writers, namespace: ${namespace} }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: writer }
subjects: [{ kind: ServiceAccount, name: robot, namespace: ${namespace} }]
`

const on = (server: (typeof servers)[number]) =>
  new Kubectl({ program: real.kubectl, kubeconfig: join(folder, `${server}.kubeconfig`), namespace, folder })

beforeAll(async () => {
  embedded = await startServer({ authorization: 'rbac' })
  copyFileSync(real.kubeconfigs.admin, join(folder, 'real.kubeconfig'))
  writeFileSync(join(folder, 'embedded.kubeconfig'), embedded.kubeconfig)
  writeFileSync(join(folder, 'first.yaml'), rules('get, list'))
  writeFileSync(join(folder, 'second.yaml'), rules('get, create'))
  for (const server of servers) {
    expectSuccess(await on(server).run(`create namespace ${namespace}`))
    expectSuccess(await on(server).run('create serviceaccount robot'))
    expectSuccess(await on(server).run('create role reader --verb=get,list,watch --resource=pods,pods/log'))
    expectSuccess(
      await on(server).run(`create rolebinding readers --role=reader --user=joe --serviceaccount=${namespace}:robot`),
    )
    await eventually(async () => expectSuccess(await on(server).run('auth can-i list pods --as joe')))
  }
})

afterAll(async () => {
  await on('real').run(`delete namespace ${namespace} --wait=false`)
  await embedded.stop()
  rmSync(folder, { recursive: true })
})

function expectSuccess(outcome: Outcome): void {
  if (outcome.code !== 0) throw new Error(`kubectl ${outcome.command} failed: ${outcome.stderr}`)
}

/** Masks tokens, and sorts the rules of `--list`, whose order is undefined. */
function shown(outcome: Outcome): Outcome {
  const { stdout, ...rest } = normalise(outcome)
  const hidden = stdout.replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>')
  return { ...rest, stdout: rest.command.includes('--list') ? hidden.split('\n').sort().join('\n') : hidden }
}

async function expectSame(command: string, code: number): Promise<void> {
  const [onReal, onEmbedded] = await Promise.all(servers.map(async (server) => shown(await on(server).run(command))))
  expect(onEmbedded).toEqual(onReal)
  expect(onReal!.code, onReal!.stderr).toBe(code)
}

describe('kubectl auth', () => {
  test.each([
    [0, 'auth can-i list pods --as joe'],
    [1, 'auth can-i list pods --as ann'],
    [1, 'auth can-i list pods --as joe -A'],
    [0, 'auth can-i get pods/x --as joe'],
    [0, 'auth can-i get pods --subresource=log --as joe'],
    [1, 'auth can-i get pods --subresource=exec --as joe'],
    [1, 'auth can-i delete pods --as joe'],
    [1, "auth can-i '*' '*' --as joe"],
    [0, "auth can-i '*' '*' --as joe --as-group system:masters"],
    [0, 'auth can-i get /healthz --as joe'],
    [1, 'auth can-i get /metrics --as joe'],
    [1, 'auth can-i get /version --as system:anonymous --as-group system:unauthenticated'],
    [0, `auth can-i watch pods --as ${account}`],
    [1, `auth can-i create deployments.apps --as ${account}`],
    [1, 'auth can-i create nonsense --as joe'],
    [1, 'auth can-i list namespaces --as joe'],
    [0, 'auth can-i --list --as joe'],
    [0, `auth can-i --list --as ${account}`],
    [0, 'auth can-i --list --as x --as-group system:masters'],
    [0, 'auth whoami --as joe'],
    [0, 'auth whoami --as joe --as-group a --as-group b --as-uid u -o yaml'],
    [0, `auth whoami --as ${account} -o json`],
  ])('kubectl exits with %i and the same output on both servers: %s', async (code, command) =>
    expectSame(command, code),
  )

  test('kubectl auth reconcile restores changed roles on both servers', async () => {
    await expectSame('auth reconcile -f first.yaml', 0)
    await expectSame('auth reconcile -f first.yaml', 0)
    await expectSame('auth reconcile -f second.yaml --dry-run=client', 0)
    await expectSame('auth reconcile -f second.yaml', 0)
    await expectSame('auth reconcile -f second.yaml --remove-extra-permissions --remove-extra-subjects', 0)
    await expectSame('get role writer -o yaml', 0)
    await expectSame('describe rolebinding writers', 0)
  })
})

describe('kubectl with RBAC', () => {
  test.each([
    [0, 'get pods --as joe'],
    [1, 'get secrets --as joe'],
    [1, 'get pods -A --as joe'],
    [1, 'get nodes --as joe'],
    [1, 'create configmap x --as joe'],
    [1, 'delete pod x --as joe'],
    [1, 'create clusterrolebinding mine --clusterrole=cluster-admin --user=joe --as joe'],
    [1, 'get --raw /metrics --as joe'],
    [0, 'get clusterroles cluster-admin view system:basic-user -o name'],
    [0, 'describe clusterrole cluster-admin'],
    [0, 'describe clusterrolebinding system:discovery'],
    [0, 'describe clusterrole view'],
  ])('kubectl exits with %i and the same output on both servers: %s', async (code, command) =>
    expectSame(command, code),
  )

  test.each([
    [0, 'create token robot'],
    [0, 'create token robot --duration=10m --audience=x --audience=y'],
    [1, 'create token robot --duration=1m'],
    [1, 'create token none'],
    [1, 'create token robot --bound-object-kind=Secret --bound-object-name=none'],
    [1, 'create token robot --bound-object-kind=ConfigMap --bound-object-name=none'],
    [1, 'create token robot --as joe'],
  ])('kubectl exits with %i and the same output on both servers: %s', async (code, command) =>
    expectSame(command, code),
  )

  test('kubectl works with a token from kubectl create token', async () => {
    // A client certificate takes precedence over a token, so the token is used without the kubeconfig.
    const withToken = async (server: (typeof servers)[number], command: string) => {
      const { stdout: url } = await on(server).run("config view --minify -o 'jsonpath={.clusters[0].cluster.server}'")
      const token = (await on(server).run('create token robot')).stdout.trim()
      const plain = new Kubectl({ program: real.kubectl, kubeconfig: join(folder, 'none'), namespace, folder })
      return shown(await plain.run(`--server=${url} --token=${token} --insecure-skip-tls-verify ${command}`))
    }
    for (const command of ['get pods', 'get secrets', 'auth can-i watch pods', 'auth whoami']) {
      const [onReal, onEmbedded] = await Promise.all(servers.map((server) => withToken(server, command)))
      expect({ ...onEmbedded, command }).toEqual({ ...onReal, command })
    }
  })
})
