import { defineConfig, type ViteUserConfig } from 'vitest/config'

/**
 * Two projects run the same conformance suite: `embedded` on the server of this package, `real` on a Kubernetes
 * control plane built by tools/envtest. `slow` needs only Node, too, but burns time: processes that loop, thousands of connections,
 * memory that is filled. `package` installs what would be published, for which npm needs its registry, and `site`
 * looks at the built documentation in a browser. Everything else needs only Node and is part of `embedded`.
 */
const config: ViteUserConfig = defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    isolate: false,
    // Much of the time goes into waiting for programs that were started: two cores are not too few for three files at once.
    maxWorkers: 3,
    // Inherited by the threads that tests start: they import TypeScript, which Vite does not see.
    execArgv: ['--import', './test/support/tsx-in-threads.mjs'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'embedded',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['test/real/**', 'test/site/**', 'test/package/**', 'test/**/*.slow.test.ts'],
          env: { KOPF_TEST_CLUSTER: 'embedded' },
          globalSetup: ['test/support/command.setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: ['test/**/*.slow.test.ts'],
          env: { KOPF_TEST_CLUSTER: 'embedded' },
          globalSetup: ['test/support/command.setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: [
            'test/{conformance,handlers,daemons,timers,indexing,activities,admission,discovery,scope,peering,election,embedding,reconciling,examples,hostile,real}/**/*.test.ts',
            'test/testing/{cluster,waiting,manifests}.test.ts',
          ],
          env: { KOPF_TEST_CLUSTER: 'real' },
          globalSetup: ['test/support/command.setup.ts', 'test/support/real-cluster.setup.ts'],
          fileParallelism: false,
        },
      },
      { extends: true, test: { name: 'site', include: ['test/site/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          globalSetup: ['test/package/packed.setup.ts'],
          fileParallelism: false,
        },
      },
    ],
  },
})

export default config
