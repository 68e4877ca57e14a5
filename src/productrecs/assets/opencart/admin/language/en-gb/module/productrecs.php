<?php
$_['heading_title']    = 'ProductRecs recommendations';
$_['text_extension']   = 'Extensions';
$_['error_permission'] = 'You may not change the settings of ProductRecs.';
