import { expect, test } from 'vitest'
import { describePlace, isLocalCluster } from './cluster-place.ts'

test.each([
  ['https://127.0.0.1:6443', 'anything'],
  ['https://[::1]:6443', undefined],
  ['https://localhost:6443', 'k3s'],
  ['https://kubernetes.docker.internal:6443', 'docker-desktop'],
  ['https://192.168.49.2:8443', 'minikube'],
  ['https://172.18.0.2:6443', 'kind-dev'],
  ['https://10.0.0.5:6443', 'k3d-test'],
])('the cluster at %s with the context %s is local', (server, context) => {
  expect(isLocalCluster({ server, context })).toBe(true)
})

test.each([
  ['https://10.0.0.5:6443', 'production'],
  ['https://10.0.0.5:6443', undefined],
  ['https://192.168.49.2:8443', 'kindergarten'],
  ['https://203.0.113.7:6443', 'kind-dev'],
  ['https://cluster.example.com', 'minikube'],
  ['https://127.0.0.1.example.com', 'kind-dev'],
  ['not an address', 'kind-dev'],
])('the cluster at %s with the context %s is not local', (server, context) => {
  expect(isLocalCluster({ server, context })).toBe(false)
})

test('a cluster is described without the credentials and the query of its address', () => {
  const server = 'https://user:secret@cluster.example.com/k8s?token=secret'
  expect(describePlace({ server, context: 'far' })).toBe('https://cluster.example.com/k8s (context far)')
  expect(describePlace({ server: 'https://cluster.example.com' })).toBe('https://cluster.example.com')
})
