import { describe } from 'vitest'
import { memory } from '../../src/stores/memory/index.ts'
import { scenarioTests } from './scenarios/tests.ts'

describe('on memory', () => scenarioTests({ makeStore: () => memory(), exact: true }))
