import { expect, test } from 'vitest'
import type { ClusterFlavour } from '../client/cluster-flavour.ts'
import { guessHost } from './addresses.ts'

const nothing: ClusterFlavour = {
  subjectCommonName: undefined,
  subjectOrganization: undefined,
  issuerCommonName: undefined,
  hosts: [],
  gitVersion: undefined,
}

test.each<[string, Partial<ClusterFlavour>, string | undefined]>([
  ['k3s by its certificate name', { subjectCommonName: 'k3s' }, 'host.k3d.internal'],
  ['k3s by its certificate organization', { subjectOrganization: 'k3s' }, 'host.k3d.internal'],
  ['k3s by its certificate issuer', { issuerCommonName: 'k3s-server-ca@1605' }, 'host.k3d.internal'],
  ['k3s behind another certificate', { subjectCommonName: 'proxy', gitVersion: 'v1.31.2+k3s1' }, 'host.k3d.internal'],
  ['Minikube', { subjectCommonName: 'minikube' }, 'host.minikube.internal'],
  ['Minikube by its certificate issuer', { issuerCommonName: 'minikubeCA' }, 'host.minikube.internal'],
  ['Docker Desktop', { hosts: ['kubernetes', 'docker-for-desktop'] }, 'host.docker.internal'],
  [
    'any other cluster',
    { subjectCommonName: 'kube-apiserver', issuerCommonName: 'kubernetes', hosts: ['localhost'] },
    undefined,
  ],
  ['a cluster without any sign', {}, undefined],
])('the host as seen from the cluster is guessed for %s', (_, signs, host) => {
  expect(guessHost({ ...nothing, ...signs })).toBe(host)
})
