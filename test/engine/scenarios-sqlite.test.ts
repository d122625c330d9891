import { describe } from 'vitest'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { scenarioTests } from './scenarios/tests.ts'

describe('on SQLite', () => scenarioTests({ makeStore: () => sqlite(':memory:'), exact: false }))
