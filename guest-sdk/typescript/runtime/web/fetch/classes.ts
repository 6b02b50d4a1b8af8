/** `Headers`, `Request` and `Response`, of which those of an engine differ. */
import '../streams';
import '../url';
import { define } from '../define';
import { Headers } from './headers';
import { Request } from './request';
import { Response } from './response';

define({ Headers, Request, Response });
